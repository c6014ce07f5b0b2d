import { stopScript } from './stop-script.ts';

/**
 * Runs before the VM's container is stopped for good: tells the attachments in the hub that the VM is going, so that
 * they let go of their disks by themselves, and has PID 1 stop.
 */
export const preStopScript = `: > /warden-cpi-dev/.going
${stopScript}`;
