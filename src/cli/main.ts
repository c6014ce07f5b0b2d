import { knownSecrets } from '../errors/redact/redactor.ts';
import { commands } from './commands.ts';
import { describeError } from './describe-error.ts';
import { locateInstallation } from './installation.ts';
import { interruption } from './interruption.ts';
import { jsonTerminal } from './json-terminal.ts';
import { processTerminal, redactingTerminal } from './terminal.ts';
import { commandHelp, usage } from './usage.ts';

// With this variable Node would verify no certificate, not even in `fetch`.
delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
const [name, ...given] = process.argv.slice(2);
const secrets = knownSecrets();
const plain = processTerminal();
const command = commands.find(
  (candidate) => candidate.name === name || (name !== undefined && candidate.aliases?.includes(name)),
);
const json =
  command?.json === true && given.includes('--json') ? jsonTerminal((text) => plain.out(text)) : undefined;
const words = json === undefined ? given : given.filter((word) => word !== '--json');
const terminal = redactingTerminal(json?.terminal ?? plain, secrets.redact);
const help = command && commandHelp(command, given);

if (command === undefined) {
  const asked = name === undefined || name === 'help' || name === '--help' || name === '-h';
  if (asked) terminal.out(usage(commands));
  else terminal.error(`bosh-kubernetes: there is no command '${name}'; bosh-kubernetes help lists all`);
  process.exitCode = asked ? 0 : 1;
} else if (help !== undefined) {
  plain.out(help);
} else {
  const interrupted = interruption({ process, now: () => performance.now() });
  // The reader of our output has exited, as after `| head`. The run ends at its next safe point.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    interrupted.abort(new Error('nobody reads the output any more'));
  });
  // Node would print the error unredacted, with everything that it quotes.
  process.on('uncaughtException', (error) => {
    terminal.error(describeError(error));
    json?.finish(1);
    process.exit(1);
  });
  let exitCode = 1;
  try {
    exitCode = await command.run(words, {
      installation: locateInstallation(process.env),
      terminal,
      secrets,
      environment: process.env,
      signal: interrupted.signal,
    });
  } catch (error) {
    terminal.error(describeError(error));
  }
  process.exitCode = exitCode;
  json?.finish(exitCode);
}
