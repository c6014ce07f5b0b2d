import type { Directories } from '../directories.ts';

/**
 * Returns the rendered templates of a job whose daemon forks twice: its start program ends immediately, and
 * only the pidfile has the daemon's pid.
 */
export function helloJob(directories: Directories): Record<string, string> {
  const { base } = directories;
  const run = `${base}/sys/run/hello`;
  const log = `${base}/sys/log/hello`;
  return {
    [`./hello/monit`]: `check process hello
  with pidfile ${run}/hello.pid
  start program "${base}/jobs/hello/bin/ctl start" with timeout 20 seconds
  stop program "${base}/jobs/hello/bin/ctl stop"
  group vcap
`,
    [`./hello/bin/ctl`]: `#!/bin/bash
case "$1" in
  start)
    echo started >> ${log}/starts
    ( ( setsid bash -c 'echo $$ > ${run}/hello.pid.new; mv ${run}/hello.pid.new ${run}/hello.pid; exec sleep 1000' </dev/null >/dev/null 2>&1 & ) & )
    ;;
  stop) echo stopped >> ${log}/stops; kill "$(cat ${run}/hello.pid)" ;;
esac
`,
    [`./hello/config/secret.yml`]: 'password: hidden\n',
    [`./hello/bin/pre-start`]: `#!/bin/bash\necho "pre-start with $PATH and $COLOUR"\n`,
    [`./hello/bin/post-start`]: '#!/bin/bash\necho post-start >&2\n',
    [`./hello/bin/drain`]: `#!/bin/bash\necho "$@" > ${log}/drain-arguments\necho 0\n`,
  };
}
