import { knownSecrets } from '../errors/redact/redactor.ts';
import { commands } from './commands.ts';
import { locateInstallation } from './installation.ts';
import { interruption } from './interruption.ts';
import { describeError } from './output/describe-error.ts';
import { jsonTerminal } from './output/json-terminal.ts';
import { processTerminal, redactingTerminal } from './output/terminal.ts';
import { commandHelp, usage } from './output/usage.ts';

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
const args = json === undefined ? given : given.filter((word) => word !== '--json');
const terminal = redactingTerminal(json?.terminal ?? plain, secrets.redact);
const help = command && commandHelp(command, given);

if (command === undefined) {
  const isHelpRequest = name === undefined || name === 'help' || name === '--help' || name === '-h';
  if (isHelpRequest) terminal.out(usage(commands));
  else terminal.error(`bosh-kubernetes: there is no command '${name}'; bosh-kubernetes help lists all`);
  process.exitCode = isHelpRequest ? 0 : 1;
} else if (help !== undefined) {
  plain.out(help);
} else {
  const interrupted = interruption({ process, now: () => performance.now() });
  // The reader of our output has exited, as after `| head`. The run ends at its next safe point.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    interrupted.abort(new Error('the reader of the output has exited'));
  });
  // Node would print the error unredacted, with everything that it quotes.
  process.on('uncaughtException', (error) => {
    terminal.error(describeError(error));
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
    terminal.error(describeError(error));
  }
  process.exitCode = exitCode;
  json?.finish(exitCode);
}
