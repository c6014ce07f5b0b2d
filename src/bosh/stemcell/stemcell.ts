/** An opened stemcell. */
export interface Stemcell {
  readonly name: string;
  readonly version: string;
  /** 1 when the manifest does not say. */
  readonly apiVersion: number;
  /** Empty when the manifest does not say. */
  readonly formats: readonly string[];
  readonly operatingSystem?: string;
  /** First argument but one of create_stemcell. */
  readonly cloudProperties: Readonly<Record<string, unknown>>;
  /** First argument of create_stemcell; stemcell.MF lies beside it. */
  readonly imagePath: string;
}
