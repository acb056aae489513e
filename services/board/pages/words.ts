/** Figures as people read them. */
import type { TaskState, Usage } from '@taskbridge/contract';
import { type Html, html } from '../html.ts';

export const cost = (usage: Usage): string => {
  if (usage.modelCalls === 0) return '–';
  return usage.costKnown ? `$${usage.costUsd.toFixed(4)}` : 'unknown';
};

export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

export const time = (at: number): Html => {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 16).replace('T', ' ')}</time>`;
};

export const badge = (state: TaskState): Html => html`<span class="state ${state}">${state}</span>`;
