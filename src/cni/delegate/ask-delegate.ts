import { CniError, cniErrorCode } from '../cni-error.ts';
import type { JsonObject } from '../json.ts';
import { isObject, parseJson } from '../json.ts';
import type { Environment } from '../plugin/environment.ts';
import type { NetworkConfig } from '../plugin/network-config.ts';
import type { RunDelegate } from './delegate.ts';

export interface Ask {
  readonly run: RunDelegate;
  readonly environment: Environment;
  readonly path: readonly string[];
}

/** The delegate's stdout. Rejects with its own error, code and details kept, or CniError 100 where it gave none. */
export async function askDelegate(
  { run, environment, path }: Ask,
  { delegate: { type } }: NetworkConfig,
  input: JsonObject,
): Promise<string> {
  const { end, stdout } = await run({ type, path, environment, input: JSON.stringify(input) });
  if (end === 0) return stdout;
  throw (
    reported(stdout) ??
    new CniError(
      cniErrorCode.delegateFailed,
      `the plugin '${type}' ended ${typeof end === 'number' ? `with exit code ${end}` : `by ${end}`} and gave no CNI error`,
      stdout.slice(0, 1000),
    )
  );
}

/** A runtime reads the code as an unsigned number, so that any other is no error object. */
function reported(stdout: string): CniError | undefined {
  const error = parseJson(stdout);
  if (!isObject(error)) return undefined;
  const { code, msg, details } = error;
  if (typeof code !== 'number' || !Number.isSafeInteger(code) || code <= 0) return undefined;
  if (typeof msg !== 'string' || msg === '') return undefined;
  return new CniError(code, msg, typeof details === 'string' ? details : '');
}
