import { text } from 'node:stream/consumers';
import { runPlugin } from './delegate/run-delegate.ts';
import { answerCall } from './plugin/plugin.ts';

/**
 * Without arguments, handles one call of the CNI plugin for a container runtime. With arguments, runs the
 * installer.
 */
async function main(args: readonly string[]): Promise<void> {
  // a closed output is not an error, and must not interrupt the work
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  if (args.length > 0) {
    const { runCommand } = await import('./install/command.ts');
    process.exitCode = await runCommand(args);
    return;
  }
  const { stdout, exitCode } = await answerCall({
    environment: process.env,
    readInput: () => text(process.stdin),
    run: runPlugin,
  });
  process.stdout.write(stdout);
  process.exitCode = exitCode;
}

void main(process.argv.slice(2));
