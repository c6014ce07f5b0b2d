import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { terminateGroup } from '../../stemcell/debian/terminate-group.ts';
import type { CommandContext } from '../command.ts';

export interface BuiltAgent {
  readonly agent: string;
  /** File with the licences and notices of what the executable holds. */
  readonly notice: string;
}

/**
 * Our agent as one executable in a folder, made from this installation's sources. STEMCELL_BUILD_FAILED says what was said about it.
 * Interrupted, it rejects with the signal's reason when the script and the compiler have ended: until then they write.
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
    // a process group, of which the compiler is too
    detached: true,
  });
  const interrupt = (): void => {
    if (child.pid !== undefined) terminateGroup(child.pid);
  };
  signal.addEventListener('abort', interrupt);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said = (said + chunk).slice(-2000)));
  // what cannot be started says so and closes, too
  child.on('error', (error) => (said += error.message));
  const code = await new Promise<number | null>((done) => child.on('close', done));
  signal.removeEventListener('abort', interrupt);
  signal.throwIfAborted();
  if (code === 0) return { agent, notice: join(folder, 'NOTICE') };
  throw new ProductError('STEMCELL_BUILD_FAILED', `The agent could not be built: ${said}`);
}
