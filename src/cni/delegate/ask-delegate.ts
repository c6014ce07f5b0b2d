import { CniError, cniErrorCode } from '../cni-error.ts';
import type { JsonObject } from '../json.ts';
import { isObject, parseJson } from '../json.ts';
import type { Environment } from '../plugin/environment.ts';
import type { NetworkConfig } from '../plugin/network-config.ts';
import type { RunDelegate } from './delegate.ts';

export interface DelegateContext {
  readonly run: RunDelegate;
  readonly environment: Environment;
  readonly path: readonly string[];
}

/**
 * Runs the delegate and returns its stdout. Rejects with the delegate's error, including its code and
 * details, or with CniError 100 if it printed none.
 */
export async function callDelegate(
  { run, environment, path }: DelegateContext,
  { delegate: { type } }: NetworkConfig,
  input: JsonObject,
): Promise<string> {
  const { exit, stdout } = await run({ type, path, environment, input: JSON.stringify(input) });
  if (exit === 0) return stdout;
  throw (
    cniErrorOf(stdout) ??
    new CniError(
      cniErrorCode.delegateFailed,
      `the plugin '${type}' ended ${typeof exit === 'number' ? `with exit code ${exit}` : `by ${exit}`} and gave no CNI error`,
      stdout.slice(0, 1000),
    )
  );
}

/**
 * Parses the error object of a delegate. A runtime reads the code as an unsigned number, so an object with
 * any other code is not an error object.
 */
function cniErrorOf(stdout: string): CniError | undefined {
  const error = parseJson(stdout);
  if (!isObject(error)) return undefined;
  const { code, msg, details } = error;
  if (typeof code !== 'number' || !Number.isSafeInteger(code) || code <= 0) return undefined;
  if (typeof msg !== 'string' || msg === '') return undefined;
  return new CniError(code, msg, typeof details === 'string' ? details : '');
}
