import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { CniError, cniErrorCode } from '../cni-error.ts';
import type { DelegateCall, DelegateOutcome } from './delegate.ts';

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
    // whatever makes the file unusable, the next directory may have another one
    if (error instanceof Error && 'code' in error) return false;
    throw error;
  }
}
