import type { Machine } from '../machine/machine.ts';

const goAhead = '/run/hubs-go-ahead';

/** Replaces mount(8) in the mount namespace of one node and delays the tmpfs of a VM's hub. */
const waitingMount = `#!/bin/sh
case "$*" in
*empty-dir/hub*) while [ ! -e ${goAhead} ]; do sleep 0.1; done ;;
esac
exec /run/mount-itself "$@"
`;

/**
 * Until `letHubsBeMounted` or a power loss, the kubelet mounts no hub on that node, like a node that is slow
 * after a boot.
 */
export async function holdHubs(machine: Machine): Promise<void> {
  const script = `cp -L "$(command -v mount)" /run/mount-itself && cat > /run/mount-waiting && chmod 755 /run/mount-waiting &&
    /run/mount-itself --bind /run/mount-waiting "$(readlink -f "$(command -v mount)")"`;
  await machine.runWell(['sh', '-c', script], waitingMount);
}

export async function letHubsBeMounted(machine: Machine): Promise<void> {
  await machine.runWell(['touch', goAhead]);
}
