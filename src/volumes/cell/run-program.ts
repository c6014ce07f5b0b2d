import { spawn } from 'node:child_process';

/**
 * Runs a program and kills it after `seconds`. Returns an error text, or undefined on success. If the killed
 * program is stuck in the kernel (dead file server), returns without waiting for its end.
 */
export async function runProgram(
  program: string,
  words: readonly string[],
  seconds: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, words, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
      detached: true,
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      if (said.length < 2000) said += chunk.toString();
    });
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      child.unref();
      child.stderr.destroy();
      resolve(`${program} was not done after ${seconds} seconds`);
    }, seconds * 1000);
    child.once('error', (error) => {
      clearTimeout(timer);
      resolve(error.message);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve(code === 0 ? undefined : said.trim() || `${program} ended with code ${code}`);
    });
  });
}
