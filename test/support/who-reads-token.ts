const token = '/var/run/secrets/kubernetes.io/serviceaccount/token';
const reading = (user: string): string =>
  `setpriv --reuid ${user} --regid ${user} --clear-groups head -c 1 ${token} > /dev/null 2>&1`;

/**
 * A command in a VM, to be run as root, that prints which users can read the token of its service account.
 * `readByVcap` is the expected output.
 */
export const whoReadsToken = `test -s ${token} || exit 1
if ${reading('vcap')}; then echo vcap; fi
if ${reading('65534')}; then echo others; fi`;

export const readByVcap = 'vcap\n';
