"""Offline reports over stores with PySpark: Java, session, data source, reports. The only home of pyspark."""
