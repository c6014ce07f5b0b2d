import type { Directories } from '../directories.ts';

/**
 * The rendered templates of a job whose daemon forks twice: its start program ends at once, and the daemon's pid is
 * known from the pidfile only.
 */
export function helloJob(directories: Directories, name = 'hello'): Record<string, string> {
  const { base } = directories;
  const run = `${base}/sys/run/${name}`;
  const log = `${base}/sys/log/${name}`;
  return {
    [`./${name}/monit`]: `check process ${name}
  with pidfile ${run}/${name}.pid
  start program "${base}/jobs/${name}/bin/ctl start" with timeout 20 seconds
  stop program "${base}/jobs/${name}/bin/ctl stop"
  group vcap
`,
    [`./${name}/bin/ctl`]: `#!/bin/bash
case "$1" in
  start)
    echo started >> ${log}/starts
    ( ( setsid bash -c 'echo $$ > ${run}/${name}.pid.new; mv ${run}/${name}.pid.new ${run}/${name}.pid; exec sleep 1000' </dev/null >/dev/null 2>&1 & ) & )
    ;;
  stop) echo stopped >> ${log}/stops; kill "$(cat ${run}/${name}.pid)" ;;
esac
`,
    [`./${name}/config/secret.yml`]: 'password: hidden\n',
    [`./${name}/bin/pre-start`]: `#!/bin/bash\necho "pre-start with $PATH and $COLOUR"\n`,
    [`./${name}/bin/post-start`]: '#!/bin/bash\necho post-start >&2\n',
    [`./${name}/bin/drain`]: `#!/bin/bash\necho "$@" > ${log}/drain-arguments\necho 0\n`,
  };
}
