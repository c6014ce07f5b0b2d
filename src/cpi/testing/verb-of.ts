import type { CallContext } from '../call.ts';
import { Arguments } from '../protocol/arguments.ts';
import { isMethodName, loadMethod } from '../protocol/methods.ts';

/** Calls a CPI method with positional arguments, as a caller of the CPI writes them. */
export type CallVerb = (call: CallContext, args: readonly unknown[]) => Promise<unknown>;

/** Returns the verb of a CPI method, which is loaded at each call, with the reader of its arguments. */
export const verbOf =
  (method: string): CallVerb =>
  async (call, args) => {
    if (!isMethodName(method)) throw new Error(`the CPI has no method ${method}`);
    const readCall = await loadMethod(method);
    return readCall(new Arguments(method, args))(call);
  };
