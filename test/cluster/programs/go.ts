import { spawn } from 'node:child_process';

/**
 * Runs Go in a directory and returns its stdout. Its stderr is passed on. Rejects if the exit code is not 0.
 */
export function go(directory: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', args, {
      cwd: directory,
      // Overrides those of the caller's Go settings that would change the result.
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
