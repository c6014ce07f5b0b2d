import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ExecSession } from '../pod-console.ts';
import type { ContainerCommand } from '../runtime/command-file.ts';
import type { RunningContainer } from '../runtime/container-runtime.ts';

/** script(1) takes a command line for a shell. This line is constant; the command is in the environment. */
const ptyCommand = 'exec /bin/sh /etc/bosh-kubernetes/container-terminal.sh';

/** A client sends the size at once, perhaps before the terminal exists. */
const setSize = `left=250
until [ -s "$1" ] || [ "$left" -eq 0 ]; do left=$((left - 1)); sleep 0.02; done
stty -F "$(cat "$1")" rows "$2" cols "$3"`;

/** Runs a command on a new terminal in the container, which script(1) creates there. */
export async function openTerminal(
  container: RunningContainer,
  command: ContainerCommand,
): Promise<ExecSession> {
  const name = `/dev/shm/.terminal-${randomBytes(8).toString('hex')}`;
  const environment = new Map([
    ...command.environment,
    ['SHELL', '/bin/sh'],
    ['TERMINAL_NAME', name],
    ['TERMINAL_ARGUMENTS', String(command.command.length)],
    ...command.command.map((argument, index): [string, string] => [`TERMINAL_ARGUMENT_${index}`, argument]),
  ]);
  const script = ['script', '--quiet', '--return', '--flush', '--command', ptyCommand, '/dev/null'];
  const process = await container.exec({ command: script, environment }, { stdin: true });
  const run = async (...other: readonly string[]): Promise<void> => {
    const helper = await container.exec(
      { command: other, environment: command.environment },
      { stdin: false },
    );
    helper.stdout.resume();
    helper.stderr.resume();
    await helper.exited;
  };
  process.stderr.resume();
  return {
    ...process,
    stderr: Readable.from([]),
    // A resize has no effect if the terminal has ended in the meantime.
    resize: (columns, rows) =>
      void run('/bin/sh', '-c', setSize, 'sh', name, String(rows), String(columns)).catch(() => undefined),
    exited: process.exited.finally(() => void run('rm', '-f', name).catch(() => undefined)),
  };
}
