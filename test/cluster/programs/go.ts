import { spawn } from 'node:child_process';

/** Go in a directory; its stdout. What it says on stderr is passed on. Rejects for an exit code other than 0. */
export function go(directory: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', args, {
      cwd: directory,
      // of the caller's Go settings those that change what is built do not count
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', (error) => reject(new Error(`go could not be started: ${error.message}`)));
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new Error(`go ${args.join(' ')} failed: ${signal ?? `exit code ${code}`}`));
    });
  });
}
