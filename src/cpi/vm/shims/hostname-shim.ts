/**
 * `hostname` for an upstream agent, which sets the name that the pod already has: this needs no capability.
 */
export const hostnameShim = `#!/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin
[ "$#" -eq 1 ] && [ "$1" = "$(hostname)" ] && exit 0
exec hostname "$@"
`;
