/** `hostname` for an upstream agent, which sets the name that the pod has already: that needs no right. */
export const hostnameShim = `#!/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin
[ "$#" -eq 1 ] && [ "$1" = "$(hostname)" ] && exit 0
exec hostname "$@"
`;
