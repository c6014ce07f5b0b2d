import { randomUUID } from 'node:crypto';
import type { CpiError } from '../../src/cpi/protocol/protocol.ts';
import { call, type Artefact } from '../cpi/artefact.ts';

export interface CpiOutcome {
  readonly result: unknown;
  readonly error: CpiError | null;
}

/** A CPI with a configuration. Each call is a process of its own, as a director calls it. */
export class CpiProcess {
  readonly #artefact: Artefact;
  readonly #config: string;

  /** `config` is the path of its configuration. */
  constructor(program: string, config: string) {
    this.#artefact = { name: 'executable', command: [program] };
    this.#config = config;
  }

  /** Makes one call and returns the response unchanged. */
  respond(method: string, ...args: readonly unknown[]): Promise<CpiOutcome> {
    const context = { director_uuid: 'director-1', request_id: randomUUID() };
    const request = { method, arguments: args, context, api_version: 2 };
    return call(this.#artefact, request, { config: this.#config });
  }

  /** Makes one call that must succeed, and returns its result. */
  async call(method: string, ...args: readonly unknown[]): Promise<unknown> {
    const { result, error } = await this.respond(method, ...args);
    if (error !== null) throw new Error(`${method}: ${error.type}: ${error.message}`);
    return result;
  }
}
