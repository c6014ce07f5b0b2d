import type { Action } from './action.ts';

/** `info []` -> the agent's API version (bosh-agent: agent/action/info.go). */
export const info: Action = { mode: 'synchronous', run: async () => ({ api_version: 1 }) };
