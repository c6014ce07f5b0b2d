import { stopScript } from './stop-script.ts';

/**
 * Runs before the VM's container is stopped for good: tells the attachments in the hub that the VM is going, so that
 * they let go of their disks by themselves, and has PID 1 stop. The marker is a directory: mkdir(2) follows no link and waits for
 * no reader, and whatever is there already marks as well. A VM whose disks are volumes of its pod may have no hub.
 */
export const preStopScript = `mkdir /warden-cpi-dev/.going 2> /dev/null
${stopScript}`;
