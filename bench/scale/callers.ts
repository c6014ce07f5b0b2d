import { runCpi } from '../../test/cpi/artefact.ts';
import { verbOf } from '../../src/cpi/testing/verb-of.ts';
import type { CpiResponse } from '../../src/cpi/protocol/protocol.ts';
import { openCall } from '../../src/cpi/open-call.ts';

/** Makes one CPI call. Rejects if the CPI responds with an error. */
export type Caller = (method: string, args: readonly unknown[]) => Promise<unknown>;

/** Runs the verbs in this process, each call with its own connection, as in a CPI process. */
export function inProcess(config: object): Caller {
  return async (method, args) => {
    const { call: cloud, close } = await openCall({
      file: config,
      context: {},
      contextName: undefined,
      environment: {},
      method,
      reportProgress: () => undefined,
    });
    try {
      return await verbOf(method)(cloud, args);
    } finally {
      close();
    }
  };
}

/** Starts a process for each call, as a director does. */
export function byProcesses(command: readonly string[], configPath: string): Caller {
  return async (method, args) => {
    const request = JSON.stringify({ method, arguments: args, context: {}, api_version: 2 });
    const { stdout } = await runCpi({ name: 'cpi', command }, request, { config: configPath });
    const { result, error } = JSON.parse(stdout) as CpiResponse;
    if (error !== null) throw new Error(`${method}: ${error.message}`);
    return result;
  };
}
