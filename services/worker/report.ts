/** Builds the report of an ended attempt: bounded, clean, and valid by the contract's schema whatever the agent did. */
import type { Parcel, WorkerIdentity } from '@taskbridge/broker';
import {
  type ArtifactRef,
  type Command,
  type FileChange,
  type LimitEvidence,
  noUsage,
  type Report,
  reportListLimit,
  reportSchema,
  writes,
} from '@taskbridge/contract';
import type { Config } from '@taskbridge/platform';
import type { Attempt } from './attempt.ts';
import { type Ending, judgeFailure } from './ending.ts';
import { type Clean, cut } from './safe-text.ts';
import { type Spooled, sha256 } from './spool.ts';

const detailLimit = 2_000;
const summaryLimit = 20_000;
const questionLimit = 2_000;
const commandLimit = 2_000;
const openQuestionsLimit = 50;

export interface ReportKit {
  worker: WorkerIdentity;
  clean: Clean;
  config: Pick<Config, 'model' | 'log_limit_bytes'>;
}

/** The report and its parcels. The attempt must have ended. */
export function makeReport(attempt: Attempt, kit: ReportKit): Spooled {
  const ending = attempt.ending ?? judgeFailure(new Error('The attempt stopped without an ending.'), attempt.signal);
  const parcels = collectParcels(attempt, kit);
  const checked = reportSchema.safeParse(describe(attempt, ending, parcels, kit));
  if (checked.success) return { report: checked.data, parcels };

  // A report must always go out: what can't be described is left out, and said.
  const fault = judgeFailure(new Error(`The report was not valid: ${checked.error.message}`), new AbortController().signal);
  const { known } = attempt;
  Object.assign(known, { work: undefined, gates: [], limits: [] });
  if (known.patch) known.patch = { ...known.patch, files: [] };
  return { report: reportSchema.parse(describe(attempt, ending.outcome === 'succeeded' ? fault : ending, parcels, kit)), parcels };
}

function describe(attempt: Attempt, ending: Ending, parcels: Parcel[], { worker, clean, config }: ReportKit): Report {
  const { job, known } = attempt;
  const { work, patch } = known;
  return {
    attemptId: job.attemptId,
    taskId: job.taskId,
    fence: job.fence,
    workerId: worker.workerId,
    ...ending,
    detail: cut(clean(ending.detail), detailLimit),
    summary: cut(clean(work?.summary ?? ''), summaryLimit),
    openQuestions: (work?.openQuestions ?? []).slice(0, openQuestionsLimit).map((question) => cut(clean(question), questionLimit)),
    base: known.base,
    head: known.head,
    salvageRef: known.salvageRef,
    files: (patch?.files ?? []).slice(0, reportListLimit).map((file): FileChange => ({ ...file, path: clean(file.path) })),
    filesTotal: patch?.filesTotal ?? 0,
    commands: (work?.commands ?? [])
      .slice(0, reportListLimit)
      .map((c): Command => ({ ...c, command: cut(clean(c.command), commandLimit) })),
    commandsTotal: work?.commands.length ?? 0,
    gates: known.gates,
    milestone: known.milestone,
    usage: work?.usage ?? noUsage,
    model: work?.model ?? job.contract.model ?? config.model ?? null,
    sessionId: work?.sessionId ?? null,
    phases: attempt.phases.list(),
    versions: worker.versions,
    limits: [...known.limits, ...promptLimits(attempt)],
    artifacts: parcels.map(artifactRef),
    startedAt: attempt.startedAt,
    endedAt: Date.now(),
  };
}

/** What the contract asks for that only the prompt, and a gate afterwards, holds. */
function promptLimits({ job: { contract } }: Attempt): LimitEvidence[] {
  const limits: LimitEvidence[] = [];
  if (writes(contract.mode) && contract.scope.length > 0)
    limits.push({ limit: 'scope', enforcedBy: 'prompt', note: 'Nothing outside it is published: the scope gate looks at the whole diff.' });
  if (contract.constraints.length > 0) limits.push({ limit: 'constraints', enforcedBy: 'prompt' });
  return limits;
}

/** Everything that travels beside the report: diff, log, transcript, and the logs of the project's commands. */
function collectParcels({ known, log }: Attempt, { clean, config }: ReportKit): Parcel[] {
  const parcels: Parcel[] = [...known.parcels];
  const { patch, work } = known;
  if (patch && !patch.empty) parcels.push({ name: 'diff', mediaType: 'text/x-diff', truncated: patch.diffTruncated, content: patch.diff });
  if (work?.transcript) {
    const whole = cleanTranscript(work.transcript, clean);
    const content = whole.subarray(0, config.log_limit_bytes);
    parcels.push({ name: 'transcript', mediaType: 'application/json', truncated: content.length < whole.length, content });
  }
  parcels.push(log.parcel());
  return parcels;
}

/** Cleaned string by string, since secrets taken out of JSON text could break it. */
function cleanTranscript(transcript: Buffer, clean: Clean): Buffer {
  try {
    const parsed: unknown = JSON.parse(transcript.toString('utf8'));
    return Buffer.from(JSON.stringify(parsed, (_, value: unknown) => (typeof value === 'string' ? clean(value) : value)));
  } catch {
    return Buffer.from(clean(transcript));
  }
}

const artifactRef = ({ name, mediaType, truncated, content }: Parcel): ArtifactRef => ({
  name,
  mediaType,
  bytes: content.length,
  sha256: sha256(content),
  truncated,
});
