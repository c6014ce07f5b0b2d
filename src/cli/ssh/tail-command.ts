import type { LogsArguments } from './ssh-arguments.ts';

const folders = { job: '/var/vcap/sys/log', agent: '/var/vcap/bosh/log', system: '/var/log' } as const;
const notText = ['*.gz', '*.xz', '*.[0-9]', '*tmp', 'lastlog', 'faillog'];

/**
 * Returns the arguments of a command that shows the ends of log files in a VM, for its shell. `find` passes
 * file names unchanged, whatever names jobs give their files. Job names were validated when the arguments
 * were parsed.
 */
export function tailCommand({ types, jobs, follow, lines = 10 }: LogsArguments): string[] {
  const places = types.flatMap((type) =>
    type === 'job' && jobs.length > 0 ? jobs.map((name) => `${folders.job}/${name}/`) : [`${folders[type]}/`],
  );
  const names = notText.map((glob) => `! -name "${glob}"`).join(' ');
  const find = `find ${places.join(' ')} -type f ${names} -print0`;
  const tail = `xargs -0 -r tail -n ${lines}${follow ? ' -F' : ''} --`;
  return ['sudo', '-n', 'sh', '-c', `'${find} | ${tail}'`];
}
