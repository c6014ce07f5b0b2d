/** An opened stemcell. */
export interface Stemcell {
  readonly name: string;
  readonly version: string;
  /** 1 if the manifest has none. */
  readonly apiVersion: number;
  /** Empty if the manifest has none. */
  readonly formats: readonly string[];
  readonly operatingSystem?: string;
  /** The second argument of create_stemcell. */
  readonly cloudProperties: Readonly<Record<string, unknown>>;
  /** The first argument of create_stemcell. stemcell.MF is in the same directory. */
  readonly imagePath: string;
}
