/**
 * A deployer that can be killed: `deploy-process.ts <options as JSON>`. With `killAt` it kills itself as soon as it has
 * written a text that contains it, which is right after the step before was recorded.
 */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../clock.ts';
import { createEnv } from '../create-env.ts';
import { formatErrorChain } from '../error-chain.ts';
import type { CreateEnvOptions } from '../options.ts';

const { killAt, ...options } = JSON.parse(process.argv[2] ?? '') as CreateEnvOptions & { killAt?: string };
let written = '';

try {
  await createEnv(options, {
    write: (text) => {
      written += text;
      if (killAt !== undefined && written.includes(killAt)) process.kill(process.pid, 'SIGKILL');
    },
    warn: (message) => process.stderr.write(`${message}\n`),
    clock: systemClock,
    uuid: randomUUID,
    environment: process.env,
  });
} catch (error) {
  process.stderr.write(`${formatErrorChain(error)}\n`);
  process.exitCode = 1;
}
