import { text } from 'node:stream/consumers';
import { runPlugin } from './delegate/run-process.ts';
import { answerCall } from './plugin/plugin.ts';

/** Called by a container runtime without arguments: one call of the CNI plugin. With arguments: the installer. */
async function main(words: readonly string[]): Promise<void> {
  // a reader that has gone away is nobody's error, and no reason to leave work half done
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  if (words.length > 0) {
    const { runCommand } = await import('./install/command.ts');
    process.exitCode = await runCommand(words);
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
