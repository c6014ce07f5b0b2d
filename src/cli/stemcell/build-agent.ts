import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { terminateGroup } from '../../stemcell/debian/terminate-group.ts';
import type { CommandContext } from '../command.ts';

export interface BuiltAgent {
  readonly agent: string;
  /** File with the licences and notices of the executable's contents. */
  readonly notice: string;
}

/**
 * Builds our agent as one executable from this installation's sources. Rejects with STEMCELL_BUILD_FAILED,
 * which quotes the build's stderr. After an interrupt, rejects with the signal's reason only when the script
 * and the compiler have ended, because they write files until then.
 */
export async function buildAgent(
  folder: string,
  { installation, signal }: Pick<CommandContext, 'installation' | 'signal'>,
): Promise<BuiltAgent> {
  signal.throwIfAborted();
  const script = join(installation.root, 'scripts', 'build-agent.ts');
  const agent = join(folder, 'bosh-agent');
  const child = spawn(installation.nodeBinary, [script, agent], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Create a process group, which also contains the compiler.
    detached: true,
  });
  const interrupt = (): void => {
    if (child.pid !== undefined) terminateGroup(child.pid);
  };
  signal.addEventListener('abort', interrupt);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said = (said + chunk).slice(-2000)));
  // A program that cannot be started emits `error` and then also `close`.
  child.on('error', (error) => (said += error.message));
  const code = await new Promise<number | null>((done) => child.on('close', done));
  signal.removeEventListener('abort', interrupt);
  signal.throwIfAborted();
  if (code === 0) return { agent, notice: join(folder, 'NOTICE') };
  throw new ProductError('STEMCELL_BUILD_FAILED', `The agent could not be built: ${said}`);
}
