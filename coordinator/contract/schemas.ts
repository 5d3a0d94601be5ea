/** The JSON schemas of all requests and answers, made from the types that validate them. */
import typia from 'typia';
import type * as backup from './backup.js';
import type * as cluster from './cluster.js';
import type * as collections from './collections.js';
import type * as encrypted from './encrypted.js';
import type * as graph from './graph.js';
import type * as proofs from './proofs.js';
import type * as records from './records.js';
import type * as search from './search.js';
import type * as service from './service.js';
import type { CollectionName, JsonObject, KeyId, Whole } from './values.js';

/** The types that routes may name. */
interface Named {
  Alias: collections.Alias;
  BatchInsertRequest: records.BatchInsertRequest;
  BatchInsertResponse: records.BatchInsertResponse;
  BeginImportRequest: backup.BeginImportRequest;
  CheckpointQuery: proofs.CheckpointQuery;
  CheckpointResponse: proofs.CheckpointResponse;
  ClusterResponse: cluster.ClusterResponse;
  CollectionName: CollectionName;
  CollectionQuery: records.CollectionQuery;
  ConfigureIndexRequest: collections.ConfigureIndexRequest;
  ConsistencyQuery: proofs.ConsistencyQuery;
  ConsistencyResponse: proofs.ConsistencyResponse;
  CountRecordsQuery: records.CountRecordsQuery;
  CountRecordsRequest: records.CountRecordsRequest;
  CountRecordsResponse: records.CountRecordsResponse;
  CreateCollectionRequest: collections.CreateCollectionRequest;
  CreateCollectionResponse: collections.CreateCollectionResponse;
  CreateEdgeRequest: graph.CreateEdgeRequest;
  CreateEdgeResponse: graph.CreateEdgeResponse;
  CreateKeyRequest: service.CreateKeyRequest;
  CreateKeyResponse: service.CreateKeyResponse;
  CreateNodeRequest: graph.CreateNodeRequest;
  CreateNodeResponse: graph.CreateNodeResponse;
  DeleteResponse: records.DeleteResponse;
  EncryptedRecordResponse: encrypted.EncryptedRecordResponse;
  EdgesQuery: graph.EdgesQuery;
  EdgesResponse: graph.EdgesResponse;
  ErrorResponse: service.ErrorResponse;
  EventLogProofResponse: proofs.EventLogProofResponse;
  ExportLogQuery: backup.ExportLogQuery;
  ExportResponse: backup.ExportResponse;
  ExternalMetadataQuery: records.ExternalMetadataQuery;
  ExternalRecordQuery: records.ExternalRecordQuery;
  FacetsQuery: records.FacetsQuery;
  FacetsRequest: records.FacetsRequest;
  FacetsResponse: records.FacetsResponse;
  BatchUpsertRequest: records.BatchUpsertRequest;
  BatchUpsertResponse: records.BatchUpsertResponse;
  DeleteRecordsRequest: records.DeleteRecordsRequest;
  DeleteRecordsResponse: records.DeleteRecordsResponse;
  GetRecordsRequest: records.GetRecordsRequest;
  GetRecordsResponse: records.GetRecordsResponse;
  GraphQuery: graph.GraphQuery;
  GraphQueryResponse: graph.GraphQueryResponse;
  HealthResponse: service.HealthResponse;
  ImportResponse: backup.ImportResponse;
  InclusionQuery: proofs.InclusionQuery;
  InclusionResponse: proofs.InclusionResponse;
  IndexConfigResponse: collections.IndexConfigResponse;
  IndexState: collections.IndexState;
  InsertEncryptedRequest: encrypted.InsertEncryptedRequest;
  InsertEncryptedResponse: encrypted.InsertEncryptedResponse;
  InsertRequest: records.InsertRequest;
  InsertResponse: records.InsertResponse;
  JsonObject: JsonObject;
  KeyId: KeyId;
  KeyStatusResponse: encrypted.KeyStatusResponse;
  ListAliasesResponse: collections.ListAliasesResponse;
  ListCollectionsResponse: collections.ListCollectionsResponse;
  ListedCollection: collections.ListedCollection;
  ListKeysResponse: service.ListKeysResponse;
  OwnKeyResponse: service.OwnKeyResponse;
  ListRecordsQuery: records.ListRecordsQuery;
  ListRecordsRequest: records.ListRecordsRequest;
  ListRecordsResponse: records.ListRecordsResponse;
  MetadataQuery: records.MetadataQuery;
  MetadataResponse: records.MetadataResponse;
  MultiSearchRequest: search.MultiSearchRequest;
  MultiSearchResponse: search.MultiSearchResponse;
  NodeResponse: graph.NodeResponse;
  NodesQuery: graph.NodesQuery;
  NodesResponse: graph.NodesResponse;
  PastReceipt: proofs.PastReceipt;
  PatchRecordsRequest: records.PatchRecordsRequest;
  PatchRecordsResponse: records.PatchRecordsResponse;
  PutAliasRequest: collections.PutAliasRequest;
  RateLimitedResponse: service.RateLimitedResponse;
  RebuildRequest: collections.RebuildRequest;
  RebuildResponse: collections.RebuildResponse;
  Receipt: records.Receipt;
  ReceiptQuery: proofs.ReceiptQuery;
  RecordQuery: records.RecordQuery;
  RecordReference: records.RecordReference;
  RecordResponse: records.RecordResponse;
  SearchBatchRequest: search.SearchBatchRequest;
  SearchBatchResponse: search.SearchBatchResponse;
  SearchRequest: search.SearchRequest;
  SearchResponse: search.SearchResponse;
  ServiceLogProof: proofs.ServiceLogProof;
  SigningKeysResponse: proofs.SigningKeysResponse;
  StateProofResponse: proofs.StateProofResponse;
  ShredResponse: encrypted.ShredResponse;
  SubgraphQuery: graph.SubgraphQuery;
  SubgraphResponse: graph.SubgraphResponse;
  TextSearchRequest: search.TextSearchRequest;
  TextSearchResponse: search.TextSearchResponse;
  TimelineQuery: proofs.TimelineQuery;
  TimelineResponse: proofs.TimelineResponse;
  UsageResponse: service.UsageResponse;
  Whole: Whole;
}

export type SchemaName = keyof Named;

/** The part of an object schema that the document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly required?: readonly string[];
  readonly description?: string;
}

const { Named: _, ...components } = typia.json.schemas<[Named], '3.1'>().components.schemas as Record<string, Schema>;

/** Schemas by type name. */
export const schemas: Readonly<Record<string, Schema>> = components;
