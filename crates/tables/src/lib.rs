//! The model as Arrow record batches; Arrow IPC and Parquet.
