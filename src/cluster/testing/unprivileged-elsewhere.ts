/**
 * Why root does not run tests as an unprivileged user once more: `.ci/run` names the suite that runs the very same tests
 * as uid 65534. False: nobody else does.
 */
export const runElsewhere: string | false = reason(process.env['UNPRIVILEGED_TESTS_RUN_IN'] ?? '');

function reason(suite: string): string | false {
  return suite !== '' && process.getuid?.() === 0 && `${suite} runs it`;
}
