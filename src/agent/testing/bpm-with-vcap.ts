import { systemClock } from '../../platform/clock.ts';
import { directoriesOf } from '../directories.ts';
import { runBpm } from '../bpm/run-command.ts';
import { procProcessTable } from '../process/process-table.ts';
import { identitiesWithVcap } from './hostile-user.ts';

// `bpm BASE ARGS` for a machine without vcap.
const [base = '', ...args] = process.argv.slice(2);
process.umask(0o022);
process.exitCode = await runBpm(args, {
  directories: directoriesOf(base),
  identities: identitiesWithVcap,
  table: procProcessTable,
  clock: systemClock,
  stdout: process.stdout,
  stderr: process.stderr,
  version: '0.0.0',
});
