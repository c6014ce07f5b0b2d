import { resolve } from 'node:path';
import { readDirectorFile } from '../../../director/director-file.ts';
import { readDirectorVariables } from '../../../director/director-variables.ts';
import { shellWord } from '../../../platform/shell-word.ts';
import { ProductError } from '../../../errors/product-error.ts';
import type { CommandContext } from '../../command.ts';
import { ensureDetachedTunnel } from '../../detached-tunnel.ts';
import { expandHome } from '../../expand-home.ts';
import { noDirectorFile } from '../../open-way.ts';
import { proxyVariables } from '../../serve-way.ts';

export const printEnvUsage = 'print-env [DIRECTORY]';

/**
 * Prints shell code that makes the bosh CLI use the director of a directory: `eval "$(… print-env
 * DIRECTORY)"`. Starts the tunnel in the background if the directory needs one and none is running.
 */
export async function printDirectorEnv(words: readonly string[], context: CommandContext): Promise<number> {
  const directory = resolve(expandHome(parseDirectory(words)));
  const file = await readDirectorFile(directory);
  if (file === undefined) throw noDirectorFile(directory);
  const variables = await readDirectorVariables(directory, file);
  const proxy =
    file.way === 'tunnel' ? proxyVariables(await ensureDetachedTunnel(directory, context)) : undefined;
  const exports = Object.entries({ ...variables, ...proxy }).map(
    ([name, value]) => `export ${name}=${shellWord(value)}\n`,
  );
  // Variables of another director that this shell used before.
  const stale = [
    ...(proxy === undefined ? ['BOSH_ALL_PROXY', 'CREDHUB_PROXY'] : []),
    ...('CREDHUB_SERVER' in variables
      ? []
      : ['CREDHUB_SERVER', 'CREDHUB_CLIENT', 'CREDHUB_SECRET', 'CREDHUB_CA_CERT']),
  ];
  if (stale.length > 0) context.terminal.out(`unset ${stale.join(' ')}\n`);
  context.terminal.out(exports.join(''));
  return 0;
}

function parseDirectory([directory, ...more]: readonly string[]): string {
  if (directory?.startsWith('-') !== true && more.length === 0) return directory ?? '.';
  throw new ProductError(
    'INVALID_ARGUMENT',
    `One folder is taken, which 'director init' wrote. Usage: director ${printEnvUsage}`,
  );
}
