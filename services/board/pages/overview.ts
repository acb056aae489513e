/** The overview: what needs someone, what runs, what has been. */
import { type TaskState, type TaskSummary, taskStates } from '@taskbridge/contract';
import { type Html, html } from '../html.ts';
import { badge, cost, duration } from './words.ts';

const row = (task: TaskSummary, now: number): Html => html`<tr>
<td>${badge(task.state)}</td>
<td><a href="/tasks/${task.id}">${task.title}</a><div class="quiet">${task.state === 'running' ? (task.activity ?? task.because) : task.because}</div></td>
<td>${task.project}</td>
<td>${task.client}</td>
<td>${duration(now - task.submittedAt)}</td>
<td>${cost(task.usage)}</td>
</tr>`;

export function overview(counts: Record<TaskState, number>, needing: TaskSummary[], newest: TaskSummary[], now: number): Html {
  const table = (some: TaskSummary[]) => html`<div class="wide"><table>
<thead><tr><th>State</th><th>Task</th><th>Project</th><th>Client</th><th>Age</th><th>Cost</th></tr></thead>
<tbody>${some.map((task) => row(task, now))}</tbody>
</table></div>`;
  return html`<h1>Tasks</h1>
<ul class="counts">${taskStates.map((state) => html`<li>${badge(state)} <strong>${counts[state]}</strong></li>`)}</ul>
${needing.length > 0 ? html`<h2>Needs someone</h2>${table(needing)}` : undefined}
<h2>Newest</h2>
${newest.length > 0 ? table(newest) : html`<p class="quiet">No task yet. Connect a client with the line that <code>npm start</code> printed.</p>`}`;
}
