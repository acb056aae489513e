/** One task: what was asked, what happened, what came of it. */
import type { AttemptView, RecordEvent, Report, TaskDetail } from '@taskbridge/contract';
import { type Html, html } from '../html.ts';
import { badge, cost, duration, time } from './words.ts';

/** The most characters of a diff that a page shows. */
const diffLimit = 200_000;

const list = (title: string, items: readonly string[]): Html | undefined =>
  items.length === 0 ? undefined : html`<dt>${title}</dt><dd><ul>${items.map((item) => html`<li>${item}</li>`)}</ul></dd>`;

const reportOf = (report: Report): Html => html`<dl>
<dt>Outcome</dt><dd>${report.outcome}${report.reason ? html` (${report.reason})` : undefined}. ${report.detail}</dd>
<dt>Agent's own words</dt><dd class="text">${report.summary || '–'}</dd>
<dt>Base → head</dt><dd><code>${report.base?.commit.slice(0, 12) ?? '–'}</code> → <code>${report.head?.commit.slice(0, 12) ?? '–'}</code></dd>
${report.salvageRef ? html`<dt>Salvage</dt><dd><code>${report.salvageRef}</code></dd>` : undefined}
${list('Open questions', report.openQuestions)}
${list(
  `Files (${report.files.length} of ${report.filesTotal})`,
  report.files.map((f) => `${f.status} ${f.path} +${f.additions} −${f.deletions}`),
)}
${list(
  `Commands (${report.commands.length} of ${report.commandsTotal})`,
  report.commands.map((c) => `[${c.exitCode ?? '?'}] ${c.command}`),
)}
${list(
  'Gates',
  report.gates.map((g) => `${g.gate}: ${g.outcome}. ${g.detail}`),
)}
${list(
  'Limits',
  report.limits.map((l) => `${l.limit}: ${l.enforcedBy}${l.note ? ` (${l.note})` : ''}`),
)}
<dt>Usage</dt><dd>${report.usage.modelCalls} model calls, ${report.usage.inputTokens} tokens in, ${report.usage.outputTokens} out, ${cost(report.usage)}</dd>
${list(
  'Phases',
  report.phases.map((p) => `${p.phase}: ${duration(p.ms)}`),
)}
</dl>`;

const attemptOf = (attempt: AttemptView): Html => html`<details${attempt.report ? html` open` : undefined}>
<summary>Attempt ${attempt.number}: ${attempt.state}${attempt.phase && !attempt.endedAt ? html` (${attempt.phase})` : undefined}, worker ${attempt.worker ?? '–'}</summary>
${attempt.report ? reportOf(attempt.report) : html`<p class="quiet">No report yet.</p>`}
</details>`;

export function taskPage(task: TaskDetail, attempts: AttemptView[], events: RecordEvent[], diff: string | undefined): Html {
  const { contract, failure } = task;
  return html`<h1>${badge(task.state)} ${task.title}</h1>
<p>${task.because}</p>
${failure ? html`<p class="problem"><strong>${failure.sentence}</strong> ${failure.detail}<br>${failure.next}</p>` : undefined}
<dl>
<dt>Task</dt><dd><code>${task.id}</code>, ${contract.mode}, priority ${task.priority}, submitted ${time(task.submittedAt)} by ${task.client}</dd>
<dt>Project</dt><dd>${task.project}, branch <code>${task.branch}</code></dd>
<dt>Cost so far</dt><dd>${cost(task.usage)}</dd>
${task.activity ? html`<dt>Last activity</dt><dd>${task.activity}</dd>` : undefined}
<dt>Goal</dt><dd class="text">${contract.goal.slice(0, 20_000)}</dd>
${list('Scope', contract.scope)}${list('Acceptance', contract.acceptance)}${list('Constraints', contract.constraints)}${list('Deliverables', contract.deliverables)}
${list('Depends on', task.dependsOn)}
</dl>
<h2>Attempts</h2>
${attempts.length > 0 ? attempts.toReversed().map(attemptOf) : html`<p class="quiet">None yet.</p>`}
${diff === undefined ? undefined : html`<h2>Diff</h2><pre class="diff">${diffLines(diff)}</pre>`}
<h2>Timeline</h2>
<ol class="timeline">${events.map((e) => html`<li>${time(e.at)} <strong>${e.type}</strong> by ${e.by} <span class="quiet">${e.actor} ${JSON.stringify(e.data)}</span></li>`)}</ol>`;
}

function diffLines(diff: string): Html {
  const shown = diff.slice(0, diffLimit);
  const kind = (line: string) =>
    /^\+(?!\+\+)/.test(line) ? 'added' : /^-(?!--)/.test(line) ? 'removed' : line.startsWith('@@') ? 'hunk' : 'same';
  const lines = shown.split('\n').map((line) => html`<span class="${kind(line)}">${line}</span>\n`);
  return html`${lines}${diff.length > diffLimit ? html`<span class="quiet">… ${diff.length - diffLimit} characters more: taskbridge diff shows the whole.</span>` : undefined}`;
}
