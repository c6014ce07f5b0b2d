import { readSync, writeSync } from 'node:fs';
import { withDirectory } from '../open-directory.ts';
import { hideDrivers, mountProc, mountVolumes } from './mount-volumes.ts';
import { type Plan, planDescriptor } from './plan.ts';

const answer = (error: string | null): void => {
  writeSync(planDescriptor, `${JSON.stringify({ error })}\n`);
};

/** Reads the plan. Returns undefined if the cell ended before it had written the whole plan. */
function readPlan(): Plan | undefined {
  const chunk = Buffer.alloc(65_536);
  let text = '';
  while (!text.endsWith('\n')) {
    const size = readSync(planDescriptor, chunk);
    if (size === 0) return undefined;
    text += chunk.toString('utf8', 0, size);
  }
  return JSON.parse(text) as Plan;
}

const plan = readPlan();
if (plan === undefined) process.exit(1);
try {
  if (plan.command !== undefined) hideDrivers(plan.hidden);
  mountVolumes(plan);
  if (plan.command !== undefined) mountProc(plan.root);
} catch (error) {
  answer(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
if (plan.command === undefined) answer(null);
else {
  const [program = '', ...args] = plan.command;
  withDirectory(plan.root, (directory) => process.chdir(directory.path));
  answer(null);
  process.execve?.(program, [program, ...args], { ...plan.environment });
}
