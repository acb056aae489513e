/** The OpenCode that is pinned here: its binary, and the whole of its configuration. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { ModelSettings } from './types.ts';

const require = createRequire(import.meta.url);

/** The binary of this platform, from the package that carries it. Its install script only copies it, so it need not have run. */
export function opencodeBinary(): string {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  const carrier = `opencode-${os}-${process.arch}`;
  return join(
    dirname(require.resolve(`${carrier}/package.json`, { paths: [dirname(require.resolve('opencode-ai/package.json'))] })),
    'bin',
    'opencode',
  );
}

export const opencodeVersion = (): string => (require('opencode-ai/package.json') as { version: string }).version;

/** `provider/model` in its two parts; the model may hold slashes itself. */
export function splitModel(model: string): { providerID: string; modelID: string } {
  const slash = model.indexOf('/');
  return { providerID: model.slice(0, slash), modelID: model.slice(slash + 1) };
}

/** What the model's endpoint is for the agent: the relay with a key of its own, or the provider's, which OpenCode knows. */
export interface Endpoint {
  baseUrl: string | undefined;
  key: string | undefined;
}

/** Whole configuration: nothing is taken from files of the user's or asked of anybody. */
export function opencodeConfig(settings: ModelSettings, endpoint: Endpoint): Record<string, unknown> {
  const { providerID, modelID } = splitModel(settings.model);
  const priced = settings.inputPrice !== undefined && settings.outputPrice !== undefined;
  const model = {
    name: modelID,
    limit: { context: settings.contextTokens, output: settings.outputTokens },
    ...(priced ? { cost: { input: settings.inputPrice, output: settings.outputPrice } } : {}),
  };
  const options = { ...(endpoint.baseUrl ? { baseURL: endpoint.baseUrl } : {}), ...(endpoint.key ? { apiKey: endpoint.key } : {}) };
  const provider = endpoint.baseUrl
    ? { npm: '@ai-sdk/openai-compatible', name: providerID, options, models: { [modelID]: model } }
    : { options };
  return {
    autoupdate: false,
    share: 'disabled',
    snapshot: false,
    model: settings.model,
    small_model: settings.model,
    provider: { [providerID]: provider },
    // Nothing is left on "ask": in a headless run nobody answers.
    permission: { '*': 'allow', external_directory: 'deny', doom_loop: 'deny', question: 'deny' },
  };
}
