import type { Verb } from '../../../src/cpi/call.ts';
import { methods } from '../../../src/cpi/protocol/methods.ts';

/** Returns the verb of a CPI method, which is loaded at its first call. */
export const verbOf =
  (method: string): Verb =>
  async (cloud, args) => {
    const load = methods.get(method);
    if (load === undefined) throw new Error(`the CPI has no method ${method}`);
    return (await load())(cloud, args);
  };
