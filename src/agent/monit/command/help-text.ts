/** The version that scripts are written for. */
export const monitVersion = '5.2.5';

export const versionText = `This is Monit version ${monitVersion}
as the agent of bosh-kubernetes answers for it
`;

export const helpText = `Usage: monit [options] {arguments}
Options are as follows:
 -g name       Set group name for start, stop, restart, monitor and unmonitor
 -V            Print version number
 -h            Print this text
Arguments are as follows:
 start all           - Start all services
 start name          - Only start the named service
 stop all            - Stop all services
 stop name           - Only stop the named service
 restart all         - Stop and start all services
 restart name        - Only restart the named service
 monitor all         - Enable monitoring of all services
 monitor name        - Only enable monitoring of the named service
 unmonitor all       - Disable monitoring of all services
 unmonitor name      - Only disable monitoring of the named service
 reload              - Have all rules count anew
 status              - Print full status information for each service
 summary             - Print short status information for each service
`;
