/** What a driver of the suite can do. Two of them run the same code: CPI verbs must be refused well where one cannot. */
export interface Driver {
  /** Also the directory of its volumes. */
  readonly name: string;
  /** Its sockets' names begin or end with it; a socket's path is short. */
  readonly socketName: string;
  readonly canSnapshot: boolean;
  readonly canClone: boolean;
  readonly canExpand: boolean;
  readonly canModify: boolean;
  /** Volumes stay in the zone where they were made. */
  readonly isZonal: boolean;
}

export const loopDriver: Driver = {
  name: 'loop.csi.bosh-kubernetes.test',
  socketName: 'loop',
  canSnapshot: true,
  canClone: true,
  canExpand: true,
  canModify: true,
  isZonal: false,
};

export const plainDriver: Driver = {
  name: 'plain.csi.bosh-kubernetes.test',
  socketName: 'plain',
  canSnapshot: false,
  canClone: false,
  canExpand: false,
  canModify: false,
  isZonal: false,
};

export const zonalDriver: Driver = {
  ...loopDriver,
  name: 'zonal.csi.bosh-kubernetes.test',
  socketName: 'zonal',
  isZonal: true,
};

export const drivers: readonly Driver[] = [loopDriver, plainDriver, zonalDriver];

/** The parameter of a class whose volumes lose their content whenever they come to a node (volume/volume-record.ts). */
export const forgetful = 'forgetful';

/** The node label and CSI topology segment of a zonal driver. */
export function zoneKeyOf(driver: Driver): string {
  return `topology.${driver.name}/zone`;
}

export const driverVersion = '1.0.0';
