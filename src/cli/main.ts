import product from '../../package.json' with { type: 'json' };
import { knownSecrets } from '../errors/redact/redactor.ts';
import { similar } from '../platform/nearest.ts';
import type { Command } from './command.ts';
import { commands } from './commands.ts';
import { locateInstallation, locateProgram } from './installation.ts';
import { interruption } from './interruption.ts';
import { describeError } from './output/describe-error.ts';
import { jsonTerminal } from './output/json-terminal.ts';
import { nameInstalledPages } from './output/name-installed-files.ts';
import { processTerminal, redactingTerminal } from './output/terminal.ts';
import { commandHelp, usage } from './output/usage.ts';

// With this variable Node would verify no certificate, not even in `fetch`.
delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
const [name, ...given] = process.argv.slice(2);
const secrets = knownSecrets();
const plain = processTerminal();
const findCommand = (word: string): Command | undefined =>
  commands.find(({ name: each, aliases = [] }) => each === word || aliases.includes(word));
const command = name === undefined ? undefined : findCommand(name);
const json =
  command?.json === true && given.includes('--json') ? jsonTerminal((text) => plain.out(text)) : undefined;
const args = json === undefined ? given : given.filter((word) => word !== '--json');
const terminal = redactingTerminal(json?.terminal ?? plain, secrets.redact);
const { root, isPackage } = locateProgram();
/** The working directory of a user of the npm package does not contain the pages that a text names. */
const withPages = (text: string): string => (isPackage ? nameInstalledPages(text, root) : text);
const columns = plain.display?.columns;
const help = command && commandHelp(command, given, columns);

if (command === undefined) {
  const [topic, ...rest] = given;
  const about = topic === undefined ? undefined : findCommand(topic);
  if (name === undefined || ['help', '--help', '-h'].includes(name)) {
    if (about !== undefined) plain.out(withPages(commandHelp(about, [...rest, '--help'], columns) ?? ''));
    else if (topic === undefined || topic.startsWith('-')) plain.out(usage(commands, columns));
    else unknown(topic);
  } else if (['version', '--version'].includes(name)) plain.out(`${product.version}\n`);
  else unknown(name);
} else if (help !== undefined) {
  plain.out(withPages(help));
} else {
  const interrupted = interruption({ process, now: () => performance.now() });
  // The reader of our output has exited, as after `| head`. The run ends at its next safe point.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    interrupted.abort(new Error('the reader of the output has exited'));
  });
  // Node would print the error unredacted, with everything that it quotes.
  process.on('uncaughtException', (error) => {
    terminal.error(withPages(describeError(error)));
    json?.finish(1);
    process.exit(1);
  });
  let exitCode = 1;
  try {
    exitCode = await command.run(args, {
      installation: locateInstallation(process.env),
      terminal,
      secrets,
      environment: process.env,
      signal: interrupted.signal,
    });
  } catch (error) {
    terminal.error(withPages(describeError(error)));
  }
  process.exitCode = exitCode;
  json?.finish(exitCode);
}

/** Commands of bosh and kubectl, with our commands that do the same. */
function counterpart(word: string): string | undefined {
  if (['vms', 'instances', 'disks', 'ls', 'get'].includes(word)) return "; 'status' shows VMs and disks";
  if (['deploy', 'apply'].includes(word)) return "; 'up' and 'create-env' deploy a manifest";
  return undefined;
}

function unknown(word: string): void {
  const names = commands.filter(({ isHidden }) => isHidden !== true).map((each) => each.name);
  terminal.error(
    `bosh-kubernetes: there is no command '${word}'${counterpart(word) ?? similar(word, names)}; bosh-kubernetes help lists all`,
  );
  process.exitCode = 1;
}
