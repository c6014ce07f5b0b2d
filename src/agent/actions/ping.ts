import type { Action } from './action.ts';

/** `ping []` -> `"pong"`. */
export const ping: Action = { mode: 'synchronous', run: async () => 'pong' };
