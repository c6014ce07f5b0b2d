import { knownSecrets } from '../errors/redact/known-secrets.ts';
import { commands } from './commands.ts';
import { describeError } from './describe-error.ts';
import { locateInstallation } from './installation.ts';
import { interruption } from './interruption.ts';
import { processTerminal, redactingTerminal } from './terminal.ts';
import { usage } from './usage.ts';

// Node would verify no certificate, in `fetch` too.
delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
const [name, ...words] = process.argv.slice(2);
const secrets = knownSecrets();
const terminal = redactingTerminal(processTerminal(), secrets.redact);
const command = commands.find(
  (candidate) => candidate.name === name || (name !== undefined && candidate.aliases?.includes(name)),
);

if (command === undefined) {
  const asked = name === undefined || name === 'help' || name === '--help' || name === '-h';
  if (!asked) terminal.error(`bosh-kubernetes: there is no command '${name}'`);
  terminal.out(usage(commands));
  process.exitCode = asked ? 0 : 1;
} else {
  const interrupted = interruption({ process, now: () => performance.now() });
  // Whoever read our output is gone, as after `| head`: the run ends at its next safe point.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    interrupted.abort(new Error('nobody reads the output any more'));
  });
  // Node would print it as it is, with whatever it quotes.
  process.on('uncaughtException', (error) => {
    terminal.error(describeError(error));
    process.exit(1);
  });
  try {
    process.exitCode = await command.run(words, {
      installation: locateInstallation(process.env),
      terminal,
      secrets,
      environment: process.env,
      signal: interrupted.signal,
    });
  } catch (error) {
    terminal.error(describeError(error));
    process.exitCode = 1;
  }
}
