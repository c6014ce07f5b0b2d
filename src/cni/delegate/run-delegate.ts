import { CniError, cniErrorCode } from '../cni-error.ts';
import { type JsonObject, isObject, tryParseJson } from '../../platform/json.ts';
import type { Environment, NetworkConfig } from '../plugin/config.ts';
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';

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
  const error = tryParseJson(stdout);
  if (!isObject(error)) return undefined;
  const { code, msg, details } = error;
  if (typeof code !== 'number' || !Number.isSafeInteger(code) || code <= 0) return undefined;
  if (typeof msg !== 'string' || msg === '') return undefined;
  return new CniError(code, msg, typeof details === 'string' ? details : '');
}

export interface DelegateCall {
  /** The name of a plugin, without a slash. */
  readonly type: string;
  /** Directories to search, in this order. */
  readonly path: readonly string[];
  readonly environment: Environment;
  /** The network configuration. */
  readonly input: string;
}

export interface DelegateOutcome {
  /** The exit code, or the name of the signal that ended the process. */
  readonly exit: number | string;
  readonly stdout: string;
}

/**
 * Runs a CNI plugin and waits for its end. It inherits our stderr. Rejects with CniError 5 or 7 if the plugin
 * cannot be run.
 */
export type RunDelegate = (call: DelegateCall) => Promise<DelegateOutcome>;

/** Runs a delegate as a real process; implements RunDelegate. */
export async function runPlugin(call: DelegateCall): Promise<DelegateOutcome> {
  const file = findPlugin(call);
  return new Promise((resolve, reject) => {
    const failed = (error: Error): void =>
      reject(new CniError(cniErrorCode.inputOutput, `the plugin ${file} cannot be run: ${error.message}`));
    const child = spawn(file, [], { env: { ...call.environment }, stdio: ['pipe', 'pipe', 'inherit'] });
    const output: Buffer[] = [];
    child.on('error', failed);
    // a plugin may exit without reading; its output still counts
    child.stdin.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') failed(error);
    });
    child.stdout.on('error', failed);
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.on('close', (code, signal) =>
      resolve({
        exit: code ?? signal ?? 'an unknown signal',
        stdout: Buffer.concat(output).toString('utf8'),
      }),
    );
    child.stdin.end(call.input);
  });
}

/** Returns the first executable file of that name, searched for as libcni does. */
function findPlugin({ type, path }: DelegateCall): string {
  const found = path.map((directory) => join(directory, type)).find(isExecutable);
  if (found !== undefined) return found;
  throw new CniError(
    cniErrorCode.invalidConfig,
    `there is no plugin '${type}' in ${path.join(', ') || 'CNI_PATH'}: install it, or correct the delegate's type`,
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch (error) {
    // this file is unusable for some reason; the next directory may have a usable one
    if (error instanceof Error && 'code' in error) return false;
    throw error;
  }
}
