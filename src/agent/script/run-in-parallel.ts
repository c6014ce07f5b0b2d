import { ProductError } from '../../errors/product-error.ts';
import { errorText } from '../file/error-code.ts';
import type { Log } from '../log.ts';

/** The run of a script of one job. It rejects if the script failed. */
export interface PendingScript {
  readonly job: string;
  readonly run: () => Promise<void>;
}

/**
 * Runs the scripts of all jobs in parallel and waits for all of them. Throws AGENT_SCRIPT_FAILED with the
 * jobs that failed, in upstream's wording (bosh-agent: agent/script/parallel_script.go).
 */
export async function runInParallel(
  name: string,
  scripts: readonly PendingScript[],
  log: Log,
): Promise<void> {
  const results = await Promise.allSettled(scripts.map((script) => script.run()));
  const failed: string[] = [];
  const passed: string[] = [];
  for (const [index, { job }] of scripts.entries()) {
    const result = results[index];
    (result?.status === 'fulfilled' ? passed : failed).push(job);
    if (result?.status === 'rejected')
      log.error(`${name} script of job '${job}': ${errorText(result.reason)}`);
  }
  if (failed.length === 0) return;
  throw new ProductError('AGENT_SCRIPT_FAILED', failureMessage(name, failed, passed));
}

function failureMessage(name: string, failed: readonly string[], passed: readonly string[]): string {
  const successful = passed.length === 0 ? '' : `. Successful Jobs: ${passed.join(', ')}`;
  const total = failed.length + passed.length;
  return `${failed.length} of ${total} ${name} scripts failed. Failed Jobs: ${failed.join(', ')}${successful}.`;
}
