import { stopScript } from './stop-script.ts';

/**
 * Runs before the VM's container is stopped for good: marks the hub, so that the attachment pods unmount
 * their disks by themselves, and stops PID 1. The marker is a directory: mkdir(2) follows no link and waits
 * for no reader, and anything that already has this name also marks the hub. A VM whose disks are volumes of
 * its pod may have no hub.
 */
export const preStopScript = `mkdir /warden-cpi-dev/.going 2> /dev/null
${stopScript}`;
