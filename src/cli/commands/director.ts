import { resolve } from 'node:path';
import { readDirectorVariables } from '../../director/credentials.ts';
import { readDirectorFile } from '../../director/director-directory.ts';
import { ProductError } from '../../errors/product-error.ts';
import { shellWord } from '../../platform/shell-word.ts';
import { expandHome } from '../args/parse-command-line.ts';
import { initFlags, initUsage } from '../args/director-init-arguments.ts';
import type { CommandContext } from '../command.ts';
import { withSubCommands } from '../with-sub-commands.ts';
import { ensureDetachedTunnel } from '../tunnel/detached-tunnel.ts';
import { proxyVariables } from '../tunnel/serve-tunnel.ts';
import { noDirectorFile } from '../tunnel/with-tunnel.ts';
import { initDirector } from './director-init.ts';

const printEnvUsage = '[DIRECTORY]';

/** Commands for a BOSH director on Kubernetes (docs/director.md). */
export const director = withSubCommands({
  name: 'director',
  documentation: 'docs/director.md',
  summary: 'Prepare a BOSH director, and print the settings of one',
  subCommands: [
    {
      name: 'init',
      usage: initUsage,
      operands: ['directory', 'other'],
      summary: 'Check whether a cluster can run a director, and write its files',
      flags: initFlags,
      example: '--for kind --stemcell stemcell/stemcell.tgz my-director',
      run: initDirector,
    },
    {
      name: 'print-env',
      usage: printEnvUsage,
      operands: ['directory', 'other'],
      summary: 'Print the environment with which the bosh CLI uses a director',
      example: 'my-director',
      run: printDirectorEnv,
    },
  ],
});

/**
 * Prints shell code that makes the bosh CLI use the director of a directory: `eval "$(… print-env
 * DIRECTORY)"`. Starts the tunnel in the background if the directory needs one and none is running.
 */
async function printDirectorEnv(args: readonly string[], context: CommandContext): Promise<number> {
  const directory = resolve(expandHome(parseDirectory(args)));
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
    `Name one folder that 'director init' wrote. Usage: director print-env ${printEnvUsage}`,
  );
}
