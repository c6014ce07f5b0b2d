import { stopScript } from './stop-script.ts';

/**
 * Runs before the VM's container is stopped for good: tells the attachments in the hub that the VM is going, so that
 * they let go of their disks by themselves, and has PID 1 stop. A VM whose disks are volumes of its pod may have no hub, and
 * `:`, a special built-in of the shell, would end it there.
 */
export const preStopScript = `true > /warden-cpi-dev/.going
${stopScript}`;
