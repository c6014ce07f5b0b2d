import { directoriesOf } from '../directories.ts';
import type { AgentClient } from './agent-client.ts';
import { helloJob } from './hello-job.ts';
import { reaches, specWith } from './specs.ts';

const idle = 'exec sleep 1000';

/**
 * Applies and starts a job that writes a line to /var/vcap/store/lives at each start. `daemon` may be another
 * script for bash, without single quotes.
 */
export async function startCountingJob(client: AgentClient, daemon = idle): Promise<void> {
  const files = helloJob(directoriesOf('/var/vcap'));
  const ctl = files['./hello/bin/ctl'] ?? '';
  const writing = ctl
    .replace('  start)', '  start)\n    echo life >> /var/vcap/store/lives || exit 9')
    .replace(idle, () => daemon);
  await client.task('apply', await specWith(client, { ...files, './hello/bin/ctl': writing }));
  await client.value('start');
  await reaches(client, 'running');
}
